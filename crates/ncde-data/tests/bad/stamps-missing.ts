@problemName p
@timeStamps true
@dimensions 2
@classLabel true a b
@data
1,2:3,4:a
