@problemName p
@timeStamps true
@dimensions 2
@classLabel true a b
@data
(0,1):(1,2),(1,3):a
